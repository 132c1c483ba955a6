/// \file
/// Started by a program that Rollcall is embedded in.
#pragma once

#include <memory>

#include <rollcall/start.hpp>

#include "bootstrap/bootstrap.hpp"

namespace rollcall::bootstrap {

/// Throws as Rendezvous, and Error{invalid_argument} for what the embedding says.
std::unique_ptr<Bootstrap> join_embedding(const Embedding& embedding);

}  // namespace rollcall::bootstrap
