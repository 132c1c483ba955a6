/// \file
/// A call of any operation between two groups. The C interface consists of such calls, and the benchmark uses them to call each operation.
#pragma once

#include <rollcall/intercommunicator.hpp>

namespace rollcall {

/// One operation between two groups in its three forms. The intercommunicator must outlive this object.
struct ROLLCALL_HIDDEN detail::IntergroupForms {
    void call(const CollectiveOptions& options) const { between.call(what, options); }
    Request start(const CollectiveOptions& options) const { return between.start(what, options); }
    Plan plan(const PlanOptions& options) const { return between.plan(what, options); }

    const Intercommunicator& between;
    IntergroupCall what;
};

}  // namespace rollcall
