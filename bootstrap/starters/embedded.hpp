/// \file
/// For a program that embeds Rollcall.
#pragma once

#include <memory>

#include <rollcall/start.hpp>

#include "bootstrap/bootstrap.hpp"

namespace rollcall::bootstrap {

/// Throws as Rendezvous does, and Error{invalid_argument} if the embedding is wrong.
std::unique_ptr<Bootstrap> join_embedding(const Embedding& embedding);

}  // namespace rollcall::bootstrap
