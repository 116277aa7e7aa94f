// What the daemon and cigri-job agree upon. Included by a program without the C++ library.
#pragma once

namespace cigri::localcluster {

/// A cigri-job finds this open: a socket of records. A byte from the daemon, with the six
/// descriptors below in this order, is a job; a byte to the daemon says that the job has ended, its
/// end record is written and another may come; an end of file, that none will.
constexpr int kSocketFd = 7;
constexpr int kRecordsFd = 3;  ///< start marks and end records are appended here
/// The job's output. While a job runs its output is read there, since it may have no name yet.
constexpr int kOutFd = 4, kErrFd = 5;
constexpr int kBirthFd = 6;  ///< holds a shared flock; closed once the start mark is written
/// The parameters of the job and its environment, lines NAME=value; each ends with NUL. After an
/// empty one the words of its command, when that is one program that needs no shell.
constexpr int kEnvironmentFd = 8;
constexpr int kScriptFd = 9;  ///< what /bin/sh gets, the job's setup and command

/// What kEnvironmentFd begins with.
enum Parameter {
  kId,
  kWalltime,  ///< s
  kGrace,     ///< ms
  kNice,
  kFile,    ///< bytes of the largest file that it may write; 0: any
  kIds,     ///< "-", or UID:GID:GROUP,GROUP... to become before the job starts
  kOutput,  ///< path without .out and .err
  kDirectory,
  kPlaces,     ///< the slots it takes, copied into the start mark
  kCpus,       ///< "", or the CPUs that the job may use: "2,3"
  kParameters  ///< how many these are
};

/// What a job measured of itself, as a record spells it before the message: "u" and cpu ms, kB of
/// its largest process, blocks of 512 bytes read and written, and ms of transfers (-1: none),
/// between commas.
constexpr char kMeasured[] = "u%lld,%lld,%lld,%lld,%lld ";

/// Each record begins with it and ends with a newline: what a full disk has cut off before it
/// becomes a line that is no record, and takes nothing of the next one with it.
constexpr char kRecordBegin[] = "!\n";

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
