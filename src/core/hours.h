// When an operator lets us send: "20-8", "Mon-Fri 20-8,Sat,Sun".
#pragma once
#include <ctime>
#include <string>

namespace cigri {

/// Whether local time `at` lies in `hours`: a comma list of [days][ from-to], from and to being
/// hours 0..24 (to may lie past midnight), days like Mon or Mon-Fri. Text that is none of this is
/// never within: an operator's slip must not open a cluster. `fault` then says what is wrong.
bool WithinHours(const std::string& hours, std::time_t at, std::string* fault = nullptr);

}  // namespace cigri
