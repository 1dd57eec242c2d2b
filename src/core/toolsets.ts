/** The tools that a user grants together. */
export const TOOLSETS = ["billing", "usage", "debits", "loans", "webhooks"] as const;
export type Toolset = (typeof TOOLSETS)[number];

/** How far a toolset is granted: its tools that only read, or all. */
export const REACHES = ["read", "write"] as const;
export type Reach = (typeof REACHES)[number];

/** Toolsets with how far each is granted; the others are not. */
export type GrantedToolsets = Readonly<Partial<Record<Toolset, Reach>>>;

/** Every toolset at one reach. */
export function everyToolset(reach: Reach): GrantedToolsets {
  return Object.fromEntries(TOOLSETS.map((toolset) => [toolset, reach]));
}

/** What both grant. */
export function commonToolsets(one: GrantedToolsets, other: GrantedToolsets): GrantedToolsets {
  const common: Partial<Record<Toolset, Reach>> = {};
  for (const toolset of TOOLSETS) {
    const reaches = [one[toolset], other[toolset]];
    if (reaches.includes(undefined)) continue;
    common[toolset] = reaches.includes("read") ? "read" : "write";
  }
  return common;
}
