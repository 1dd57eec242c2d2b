import { createHash } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { nextTurn } from "../../core/chunk.ts";
import { errorCode } from "../../core/error_code.ts";
import type { StoredTotals } from "./stored_totals.ts";

/**
 * A snapshot of running totals in a file, so that a start need not count all stored events: a line of JSON for each
 * watch, then a line with the digest of all these. When it can't be used the totals are counted.
 */

/** The version of the format; to be raised when the same values come to other totals. */
const FORMAT = 1;

/** What is known of a snapshot by its engine, which shows whether the file belongs to the stored events. */
type Stamp = Readonly<Record<string, string | number>>;

interface End {
  format: number;
  stamp: Stamp;
  digest: string;
}

/** Writes the sections as they come, with other work in between. The file appears whole or not at all. */
export async function writeTotalsFile(
  path: string,
  sections: Iterable<readonly StoredTotals[]>,
  stampOf: () => Promise<Stamp | undefined>,
): Promise<void> {
  const aside = `${path}.new`;
  const file = await open(aside, "w", 0o600);
  try {
    const hash = createHash("sha256");
    for (const section of sections) {
      const text = section.map((totals) => `${JSON.stringify(totals)}\n`).join("");
      hash.update(text);
      await file.writeFile(text);
      await nextTurn();
    }
    const stamp = await stampOf();
    if (stamp === undefined) return await rm(aside, { force: true });
    await file.writeFile(JSON.stringify(endOf(stamp, hash.digest("hex"))));
    await file.sync();
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await rename(aside, path);
}

/** The digest is of the lines and the stamp. */
function endOf(stamp: Stamp, lines_digest: string): End {
  const digest = createHash("sha256").update(lines_digest).update(JSON.stringify(stamp)).digest("hex");
  return { format: FORMAT, stamp, digest };
}

/**
 * Reads a snapshot whose stamp `isOurs` confirms. Undefined when there is none.
 * Errors: throws an Error with the reason why it can't be used.
 */
export async function readTotalsFile(
  path: string,
  isOurs: (stamp: Stamp) => Promise<boolean>,
): Promise<StoredTotals[] | undefined> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const cut = text.lastIndexOf("\n") + 1;
  const lines = text.slice(0, cut);
  const end = parseEnd(text.slice(cut));
  const expected = endOf(end.stamp, createHash("sha256").update(lines).digest("hex"));
  if (JSON.stringify(end) !== JSON.stringify(expected)) throw new Error("it is damaged");
  if (!(await isOurs(end.stamp))) throw new Error("it is of other events");
  // Written by writeTotalsFile: the digest says so.
  return lines
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as StoredTotals);
}

function parseEnd(line: string): End {
  try {
    return JSON.parse(line) as End;
  } catch (cause) {
    throw new Error("it is cut off", { cause });
  }
}
