/** Hard limits of the audit log. */
export const LIMITS = {
  /** What an entry of the audit log keeps of an input: characters in all and of one text, depth, members. */
  audit_entry_characters: 4_000,
  audit_entry_text: 500,
  audit_entry_depth: 8,
  audit_entry_members: 100,
  /** Places of what an entry leaves out that it names. */
  audit_entry_withheld: 20,
  /** Refusals of one user or API key that are written down in a minute. */
  audit_refusals_minute: 20,
  /** A failed sign-in is written down so long after its answer, which must not tell whether the email is known. */
  audit_sign_in_delay_ms: 100,
} as const;
