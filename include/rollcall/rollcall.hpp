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

#include <rollcall/version.h>
#include <rollcall/blocks.hpp>
#include <rollcall/buffer.hpp>
#include <rollcall/collective_options.hpp>
#include <rollcall/communicator.hpp>
#include <rollcall/completion_queue.hpp>
#include <rollcall/error.hpp>
#include <rollcall/exchanges.hpp>
#include <rollcall/intercommunicator.hpp>
#include <rollcall/job.hpp>
#include <rollcall/listener.hpp>
#include <rollcall/memory.hpp>
#include <rollcall/plan.hpp>
#include <rollcall/reduction.hpp>
#include <rollcall/request.hpp>
#include <rollcall/start.hpp>
#include <rollcall/time.hpp>

/// \mainpage
/// A program in C++ includes rollcall/rollcall.hpp. It joins its job with a rollcall::Job. Its world() is a rollcall::Communicator, which
/// has the messages and the collective operations, also those of rollcall::DistributingOperations, rollcall::Exchanges and
/// rollcall::ReducingOperations. Every failure is a rollcall::Error. docs/interface.md shows all of this by examples.
///
/// A program in C includes rollcall/rollcall.h.
