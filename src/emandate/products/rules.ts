import type { FrequencyMode } from "./model.ts";
import type { Frequency } from "../schedule.ts";

const MODES: Record<Frequency, FrequencyMode> = { Daily: "DL", Weekly: "WK", Monthly: "MT", Yearly: "YR" };

/** The scheme's code for a frequency. */
export function modeOf(frequency: Frequency): FrequencyMode {
  return MODES[frequency];
}
