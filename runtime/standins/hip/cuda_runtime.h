// For hipRTC, which has what is in this header without it.
#pragma once
