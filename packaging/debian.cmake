# CPack runs this before it packs. Everybody may use what is packed, whatever the umask of the user who packs.
file(CHMOD_RECURSE "${CPACK_TEMPORARY_INSTALL_DIRECTORY}" DIRECTORY_PERMISSIONS
     OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# Debian's policy wants manual pages compressed (12.1), and the licence in a file of this name (12.5).
if(CPACK_GENERATOR STREQUAL "DEB")
  set(share "${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share")
  file(GLOB pages "${share}/man/man1/*.1")
  if(pages)
    execute_process(COMMAND gzip -9 --no-name ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  set(documents "${share}/doc/${CPACK_PACKAGE_NAME}")
  if(EXISTS "${documents}/LICENSE")
    file(RENAME "${documents}/LICENSE" "${documents}/copyright")
    file(CREATE_LINK copyright "${documents}/LICENSE" SYMBOLIC)  # README.md names it
  else()  # the user has another directory for documents
    file(MAKE_DIRECTORY "${documents}")
    file(COPY_FILE "${CPACK_RESOURCE_FILE_LICENSE}" "${documents}/copyright")
  endif()
endif()
