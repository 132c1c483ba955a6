#include "tests/process/launcher/launched.hpp"

namespace rollcall::test {

const std::string kCommand = ROLLCALL_COMMAND;
const std::string kProbe = ROLLCALL_LAUNCHER_PROBE;

}  // namespace rollcall::test
