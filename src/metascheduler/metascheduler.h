// The pass of the metascheduler: read the tables, decide, write the plan.
#pragma once
#include "metascheduler/store.h"
#include "module/module.h"

namespace cigri::metascheduler {

/// Safe to kill and to repeat: a plan, its state and its reasons are one transaction.
class Metascheduler {
 public:
  void Pass(module::Step& step);

 private:
  Store store_;
  policy::State state_;
  bool finished_ = false;
};

}  // namespace cigri::metascheduler
