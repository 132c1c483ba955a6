#include "runtime/engine/caller_notice.hpp"

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {

void CallerNotice::begin(Engine& engine) {
    if (!operation_.done()) (operation_.*tell_)(when_);
    end(engine);
}

void CallerNotice::abandon(Engine& engine, const Error& error) {
    if (!operation_.done()) engine.abandon(operation_, error);
    end(engine);
}

void CallerNotice::end(Engine& engine) noexcept {
    --engine.begun_;  // the engine counts what it begins
    set_done();
}

}  // namespace rollcall::runtime
