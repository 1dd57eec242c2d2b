/** Hard limits of requests and their bodies. */
export const LIMITS = {
  body_bytes: 5 * 1024 * 1024,
  /** How long a body may take to come in. */
  body_ms: 60_000,
  /** How long before a request is carried out its caller may have signed in: bodies that take longer sign in anew. */
  sign_in_trust_ms: 100,
  /** What has come in of bodies that are being read at once: in all, and of one company and user or API key. */
  bodies_bytes: 128 * 1024 * 1024,
  bodies_company_bytes: 64 * 1024 * 1024,
  bodies_user_bytes: 32 * 1024 * 1024,
  /** The same of callers who are not signed in, who have no company but an address. */
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
  /** A line of a stream of lines: an event's largest metadata fit in, every character escaped. */
  line_bytes: 128 * 1024,
  /** How long a stream of lines may take to send the next block of them. */
  line_block_ms: 60_000,
  /** Metadata may nest 100 levels, inside an event of a batch. */
  body_depth: 110,
} as const;
