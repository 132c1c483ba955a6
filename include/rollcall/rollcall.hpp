/// \file
/// All of Rollcall's C++ interface.
///
///     #include <rollcall/rollcall.hpp>
///     int main() {
///         rollcall::Job job;
///         double value = job.rank() == 0 ? 42.0 : 0.0;
///         job.world().broadcast(value, 0);
///     }
#pragma once

#include <rollcall/communicator.hpp>
#include <rollcall/error.hpp>
#include <rollcall/job.hpp>
#include <rollcall/plan.hpp>
#include <rollcall/request.hpp>
#include <rollcall/start.hpp>
#include <rollcall/time.hpp>
