/// \file
/// The launcher uses the frames of the bootstrap.
#pragma once

#include "bootstrap/frames.hpp"

namespace rollcall::launcher {

using bootstrap::Blob;
using bootstrap::Frame;
using bootstrap::FrameReader;
using bootstrap::FrameType;
using bootstrap::FrameWriter;

}  // namespace rollcall::launcher
