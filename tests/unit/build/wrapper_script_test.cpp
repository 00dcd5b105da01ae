// Scripts that certainly start one program, and scripts that may do anything.
#include "core/build/wrapper_script.hpp"

#include <doctest/doctest.h>

using namespace xtune::build;

TEST_CASE("a script that only starts one program names it") {
  CHECK(program_of_wrapper("#!/bin/sh\nexec g++ \"$@\"\n") == "g++");
  CHECK(program_of_wrapper("#!/bin/sh\n# ours\n\n  exec /opt/gcc/bin/g++ -B/opt/x -march=native \"$@\" -lm") ==
        "/opt/gcc/bin/g++");
  CHECK(program_of_wrapper("#!/bin/sh -e\nexec g++ \"$@\"\n# the end\n") == "g++");
}

TEST_CASE("other scripts may do anything") {
  for (const char* text : {"",
                           "\x7f"
                           "ELF",
                           "#!/bin/sh\n",
                           "exec g++ \"$@\"\n",
                           "#!/bin/bash\nexec g++ \"$@\"\n",
                           "#!/usr/bin/env python3\nexec g++ \"$@\"\n",
                           "#!/bin/sh\ng++ \"$@\"\n",
                           "#!/bin/sh\nexec g++ $@\n",
                           "#!/bin/sh\nexec g++\n",
                           "#!/bin/sh\nexec $CXX \"$@\"\n",
                           "#!/bin/sh\n. /etc/compiler\nexec g++ \"$@\"\n",
                           "#!/bin/sh\nexec g++ \"$@\" $MORE\n",
                           "#!/bin/sh\nexec g++ `cat flags` \"$@\"\n",
                           "#!/bin/sh\nexec ./g++ \"$@\"\n",
                           "#!/bin/sh\nexec ccache g++ \"$@\"\n",
                           "#!/bin/sh\nexec env A=1 g++ \"$@\"\n",
                           "#!/bin/sh\nexec -a x g++ \"$@\"\n",
                           "#!/bin/sh\nexec g++ \"$@\"; exec clang++ \"$@\"\n",
                           "#!/bin/sh\nexec g++ @flags \"$@\"\n",
                           "#!/bin/sh\nexec g++ \"$@\" > log\n",
                           "#!/bin/sh\nexec g++ \"$@\" \\\n-O2\n",
                           "#!/bin/sh\nexec ~/g++ \"$@\"\n",
                           "#!/bin/sh\nexec g++ \"$@\"\nexec clang++ \"$@\"\n"}) {
    CAPTURE(text);
    CHECK_FALSE(program_of_wrapper(text));
  }
}
