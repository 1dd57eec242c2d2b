/** How often a mandate is debited, with the scheme's word for it. Source: emandate.md, Choices. */
export const FREQUENCIES = ["Daily", "Weekly", "Monthly", "Yearly"] as const;
export type Frequency = (typeof FREQUENCIES)[number];
export const FREQUENCY_MODES = ["DL", "WK", "MT", "YR"] as const;
export type FrequencyMode = (typeof FREQUENCY_MODES)[number];
