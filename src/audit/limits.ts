/** Hard limits of the audit log. */
export const LIMITS = {
  /** How much of an input an entry keeps: characters in all and of one text, depth, members. */
  audit_entry_characters: 4_000,
  audit_entry_text: 500,
  audit_entry_depth: 8,
  audit_entry_members: 100,
  /** Withheld fields that an entry names. */
  audit_entry_withheld: 20,
  /** Refusals of one user or API key that are recorded in a minute. */
  audit_refusals_minute: 20,
  /** A failed sign-in is recorded so long after its response, which must not reveal whether the email is known. */
  audit_sign_in_delay_ms: 100,
} as const;
