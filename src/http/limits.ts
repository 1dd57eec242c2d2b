/** Hard limits of requests and their bodies. */
export const LIMITS = {
  body_bytes: 5 * 1024 * 1024,
  /** How long a body may take to arrive. */
  body_ms: 60_000,
  /** How old an authentication may be when the request runs: after a slower body the caller is authenticated again. */
  sign_in_trust_ms: 100,
  /** Bytes of bodies being read at once: in all, of one company, and of one user or API key. */
  bodies_bytes: 128 * 1024 * 1024,
  bodies_company_bytes: 64 * 1024 * 1024,
  bodies_user_bytes: 32 * 1024 * 1024,
  /** The same for callers who are not signed in: one body, all of them, and those of one address. */
  open_body_bytes: 16 * 1024,
  open_body_ms: 10_000,
  open_bodies_bytes: 16 * 1024 * 1024,
  open_bodies_address_bytes: 2 * 1024 * 1024,
  /**
   * Entries of one array or object in a body, bytes of one text (the largest metadata fit in, every character
   * escaped), and values in all: of a request, and of one that brings events.
   */
  body_members: 10_000,
  body_text_bytes: 128 * 1024,
  body_values: 50_000,
  usage_values: 100_000,
  refused_bytes: 64 * 1024,
  /** A line of NDJSON: the largest metadata of an event fit in, every character escaped. */
  line_bytes: 128 * 1024,
  /** How long a stream may take to send its next block of lines. */
  line_block_ms: 60_000,
  /** Metadata may nest 100 levels, inside an event of a batch. */
  body_depth: 110,
} as const;
