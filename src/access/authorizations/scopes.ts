import {
  everyToolset,
  type GrantedToolsets,
  type Reach,
  REACHES,
  TOOLSETS,
  type Toolset,
} from "../../core/toolsets.ts";

// OAuth scopes, as texts with spaces between them (RFC 6749, 3.3). Decision 0285.

/** The scope of every tool that the user's role allows. */
export const SCOPE = "mcp:tools" as const;

const scopeFor = (toolset: Toolset, reach: Reach) => `mcp:${toolset}:${reach}`;

/** The scopes that ask for no more than these toolsets, the widest first. */
export function scopesWithin(reachable: GrantedToolsets): string[] {
  const scopes = TOOLSETS.flatMap((toolset) => {
    const reach = reachable[toolset];
    if (reach === undefined) return [];
    return (reach === "read" ? ["read" as const] : REACHES).map((each) => scopeFor(toolset, each));
  });
  return isEverything(reachable) ? [SCOPE, ...scopes] : scopes;
}

/** Every scope there is. */
export const SCOPES: readonly string[] = scopesWithin(everyToolset("write"));

function isEverything(granted: GrantedToolsets): boolean {
  return TOOLSETS.every((toolset) => granted[toolset] === "write");
}

/** The scope of toolsets, in one order. */
export function scopeOfToolsets(granted: GrantedToolsets): string {
  if (isEverything(granted)) return SCOPE;
  const scopes = TOOLSETS.flatMap((toolset) => {
    const reach = granted[toolset];
    return reach === undefined ? [] : [scopeFor(toolset, reach)];
  });
  return scopes.join(" ");
}

/** The toolsets of a scope; writing includes reading. Words that are no scope count for nothing. */
export function toolsetsOf(scope: string): GrantedToolsets {
  const words = new Set(scope.split(" "));
  if (words.has(SCOPE)) return everyToolset("write");
  const granted: Partial<Record<Toolset, Reach>> = {};
  for (const toolset of TOOLSETS) {
    for (const reach of REACHES) if (words.has(scopeFor(toolset, reach))) granted[toolset] = reach;
  }
  return granted;
}

/** The words of a scope that are none of ours; none of a scope that was left out. */
export function unknownScopes(scope: string | undefined): string[] {
  return (scope ?? "").split(" ").filter((word) => word !== "" && !SCOPES.includes(word));
}
