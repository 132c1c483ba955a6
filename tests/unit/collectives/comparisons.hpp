/// \file
/// The rules that compare estimates, for tests of estimates and of choices.
#pragma once

#include "collectives/selection.hpp"

namespace rollcall::collectives {

/// Compares nothing by more than this.
inline constexpr double kRounding = 1 + 1e-6;

template <class Visit>
void for_each_comparison(Visit visit) {
    for (const OperationRow& row : all_operations())
        for (const Rule& rule : row.rules)
            if (rule.compares()) visit(row, rule);
}

}  // namespace rollcall::collectives
