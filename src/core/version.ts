import { version } from "../../package.json" with { type: "json" };

/** What `bun run compile` sets; a start from the sources has none. */
declare const BUILD_COMMIT: string | undefined;
declare const BUILD_DATE: string | undefined;

/** Which program this is: its version, and the commit with its date where it was compiled. */
export const VERSION = {
  version,
  commit: typeof BUILD_COMMIT === "string" ? BUILD_COMMIT : null,
  /** The commit's day, `2026-11-22`: the same commit makes the same program. */
  date: typeof BUILD_DATE === "string" ? BUILD_DATE : null,
};

/** `meterhouse 0.1.0 (3f1c2ab, 2026-11-22)` */
export function versionLine({ commit, date } = VERSION): string {
  return `meterhouse ${version} (${commit === null ? "from its sources" : `${commit}, ${date}`})`;
}
