#include "launcher/program.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "foundation/error_text.hpp"
#include "foundation/quote.hpp"
#include "launcher/launch.hpp"

namespace rollcall::launcher {
namespace {

struct Processor {
    std::uint16_t number;
    const char* name;  ///< As uname writes it.
};
constexpr std::array kProcessors = {Processor{EM_X86_64, "x86_64"}, Processor{EM_AARCH64, "aarch64"}, Processor{EM_386, "i386"},
                                    Processor{EM_ARM, "arm"},       Processor{EM_PPC64, "ppc64"},     Processor{EM_S390, "s390x"},
                                    Processor{EM_RISCV, "riscv"}};

/// Returns the beginning of a file: its ELF header, and the names that the header leads to.
std::string head_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string head(4096, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(file.gcount()));
    return head;
}

bool is_elf(std::string_view head) { return head.size() >= sizeof(Elf64_Ehdr) && head.starts_with(ELFMAG); }

Elf64_Ehdr header_of(std::string_view head) {
    Elf64_Ehdr header;
    std::memcpy(&header, head.data(), sizeof header);
    return header;
}

/// Returns the path of the loader that an ELF program names. Empty if it names none.
std::string loader_of(std::string_view head) {
    const Elf64_Ehdr header = header_of(head);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return {};
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
        const std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
        if (at > head.size() || head.size() - at < sizeof(Elf64_Phdr)) break;
        Elf64_Phdr part;
        std::memcpy(&part, head.data() + at, sizeof part);
        if (part.p_type != PT_INTERP || part.p_offset > head.size() || head.size() - part.p_offset < part.p_filesz) continue;
        const auto name = head.substr(part.p_offset, part.p_filesz);
        return std::string(name.substr(0, name.find('\0')));
    }
    return {};
}

/// Returns the interpreter that the first line of a script names. If the file was written on another system, the text ends with a carriage
/// return.
std::string interpreter_of(std::string_view head) {
    auto line = head.substr(2, head.find('\n') - std::min<std::size_t>(2, head.find('\n')));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return std::string(line.substr(0, line.find_first_of(" \t")));
}

std::string explain_format(std::string_view head) {
    if (head.empty()) return "the file is empty";
    if (!is_elf(head)) return "it is neither a program of this system nor a script whose first line begins with #!, such as #!/bin/sh";
    utsname own{};
    ::uname(&own);
    const auto machine = header_of(head).e_machine;
    const auto found = std::find_if(kProcessors.begin(), kProcessors.end(), [&](const Processor& one) { return one.number == machine; });
    const std::string name = found != kProcessors.end() ? found->name : fmt::format("another processor (number {} of ELF)", machine);
    if (name == own.machine) return "the file is not a complete program";
    return fmt::format("it is a program for {}, and this host is {}", name, own.machine);
}

}  // namespace

ProgramFault explain_exec_failure(const std::string& path, int error) {
    if (error == ENOEXEC) return {explain_format(head_of(path)), kExitNotExecutable};
    if (error == ENOENT && ::access(path.c_str(), F_OK) == 0) {
        const std::string head = head_of(path);
        if (head.starts_with("#!")) {
            return {fmt::format("its first line names the interpreter {}, which is not there", quote(interpreter_of(head))),
                    kExitNotExecutable};
        }
        if (is_elf(head)) {
            return {fmt::format("the loader that it names, {}, is not there: it was built for another system", quote(loader_of(head))),
                    kExitNotExecutable};
        }
    }
    if (struct stat status{}; error == EACCES && ::stat(path.c_str(), &status) == 0) {
        if (S_ISDIR(status.st_mode)) return {"it is a directory", kExitNotExecutable};
        if ((status.st_mode & 0111) == 0) return {"it is not executable (chmod +x makes it so)", kExitNotExecutable};
    }
    return {error_text(error), error == ENOENT ? kExitNotFound : kExitNotExecutable};
}

}  // namespace rollcall::launcher
