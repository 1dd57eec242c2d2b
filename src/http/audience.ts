import { type Actor, type Level, levelOf } from "../core/access.ts";
import { AppError } from "../core/errors.ts";

/** Who may call routes: users of any level, callers of these levels, or everyone without signing in. */
export type Audience = "any" | "open" | Level | readonly Level[];

const USERS: readonly Level[] = ["company", "client"];

/** The levels of an audience; none where nobody signs in. */
export function levelsOf(audience: Audience): readonly Level[] {
  if (audience === "any") return USERS;
  if (audience === "open") return [];
  return typeof audience === "string" ? [audience] : audience;
}

/** The callers of a level, and the paths that they have. */
const LEVELS: Record<Level, { callers: string; paths: string }> = {
  company: { callers: "company users", paths: "are all but those under /my, /lender and /agent" },
  client: { callers: "client users", paths: "are under /my" },
  lender: { callers: "API keys of lenders", paths: "are under /lender" },
  agent: { callers: "API keys of agents", paths: "are under /agent" },
  ingest: { callers: "API keys for ingest", paths: "is POST /usage/events" },
  gateway: { callers: "API keys of gateways", paths: "are for sending and checking usage" },
};

/** Errors: forbidden for an actor of another level. */
export function requireAudience(actor: Actor, levels: readonly Level[]): void {
  const level = levelOf(actor);
  if (levels.includes(level)) return;
  const callers = new Intl.ListFormat("en-GB").format(levels.map((admitted) => LEVELS[admitted].callers));
  throw new AppError("forbidden", `This path is for ${callers}; yours ${LEVELS[level].paths}`);
}
