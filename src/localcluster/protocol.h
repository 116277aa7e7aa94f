// What the daemon and cigri-job agree upon. Included by a program without the C++ library.
#pragma once

namespace cigri::localcluster {

/// Descriptors that cigri-job finds open.
constexpr int kRecordsFd = 3;  ///< start marks and end records are appended here
/// The job's output. While a job runs its output is read there, since it may have no name yet.
constexpr int kOutFd = 4, kErrFd = 5;
constexpr int kBirthFd = 6;    ///< holds a shared flock; closed once the start mark is written
/// The job's environment: lines NAME=value that end with NUL. After an empty one the words of its
/// command, when that is one program that needs no shell.
constexpr int kEnvironmentFd = 8;
constexpr int kScriptFd = 9;   ///< the job's setup and command: in a command line all could read them

/// What a job measured of itself, as a record spells it before the message: "u" and cpu ms, kB of
/// its largest process, blocks of 512 bytes read and written, and ms of transfers (-1: none),
/// between commas.
constexpr char kMeasured[] = "u%lld,%lld,%lld,%lld,%lld ";

/// Why a job ended, as a record and the value of a queued SIGTERM spell it.
enum class Cause : char {
  kExited = 'x',
  kPreempted = 'p',
  kWalltime = 'w',
  kDeleted = 'd',
  kNodeFailed = 'n',
  kBadDirectory = 'c',
  kBadOutput = 'o',
  kLaunchFailed = 'l',
  kUnknown = 'u'
};

}  // namespace cigri::localcluster
