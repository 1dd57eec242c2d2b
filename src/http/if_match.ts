import { AppError } from "../core/errors.ts";
import type { Context } from "../app/context.ts";
import type { Queries } from "../store/store.ts";

const HEADER = "if-match";

/** The ETag of an answer (RFC 9110, section 8.8.3): another one whenever the record that it shows is another. */
export function etagOf(answer: unknown): string {
  const digest = new Bun.CryptoHasher("sha256").update(JSON.stringify(answer)).digest("base64url");
  return `"${digest.slice(0, 22)}"`;
}

/** The tags that a request names; null without the header, or where any record will do. */
function tagsOf(request: Request): string[] | null {
  const named = request.headers.get(HEADER);
  if (named === null || named.trim() === "*") return null;
  // What compresses answers on their way weakens their tags (nginx) or marks them (Apache): the record is the same.
  return Array.from(
    named.matchAll(/"([^"]*)"/g),
    ([, tag = ""]) => `"${tag.replace(/[-;](gzip|br|zstd)$/, "")}"`,
  );
}

/**
 * The context in which a change is refused unless the record is the one of If-Match: `read` reads it in the transaction
 * of the change, before the change. Errors of that transaction: precondition_failed, and those of `read`. Decision 0350.
 */
export function unlessChanged(
  ctx: Context,
  request: Request,
  read: (ctx: Context) => Promise<unknown>,
): Context {
  const tags = tagsOf(request);
  if (tags === null) return ctx;
  const { store } = ctx;
  const compare = async (q: Queries) => {
    const answer = await read({ ...ctx, store: { ...store, read: q, read_at_once: q } });
    if (!tags.includes(etagOf(answer)))
      throw new AppError(
        "precondition_failed",
        "It was changed since it was read: If-Match names it as it was",
      );
  };
  let is_begun = false;
  async function tx<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    // Nested, or after the change.
    if (is_begun) return store.tx(work);
    is_begun = true;
    return store.tx(async (q) => {
      await compare(q);
      return work(q);
    });
  }
  return { ...ctx, store: { ...store, tx } };
}
