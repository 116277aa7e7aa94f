// What the process in which rules run cannot do, whatever a rule makes of the interpreter.
#pragma once

namespace cigri::rules {

/// Becomes nobody when it is root, and gives up all system calls but those that compute and answer:
/// from then on it opens no file and no socket, and starts no program. Throws Fatal.
void GiveUpRights();

}  // namespace cigri::rules
