/** Hard limits of the questions over all families. */
export const LIMITS = {
  /** Records of each kind that a search finds. */
  found_of_a_kind: 5,
  /** The newest records of what needs a person. */
  attention_newest: 5,
  /** For so many days failed deliveries and debits are worth a look. */
  attention_days: 30,
  /** How far ahead the overview looks, in days. */
  coming_days: 7,
  /** Clients at the top of the overview. */
  top_clients: 5,
} as const;
