/** Hard limits of mandates, debits and their schemes. */
export const LIMITS = {
  emandate_page_limit: 100,
  emandate_product_name_length: 100,
  /** The scheme's limits: a debit of a person's account in MYR, and the length of a name. */
  emandate_amount_min: "1.00",
  emandate_amount_max: "30000.00",
  emandate_customer_name_length: 40,
  emandate_description_length: 30,
  /** How far ahead a debit by hand may be due. */
  emandate_due_years_ahead: 1,
  /** Mandates that a collection run looks at, and debits that it sends, in one transaction. */
  collection_batch: 200,
  /** How long a debit by hand that is in no file yet may go into one, also in a later period. */
  collection_by_hand_days: 7,
  /** After what silence of a run it is looked whether its process lives, and how many are looked at at once. */
  collection_silent_ms: 10_000,
  collection_takeovers: 4,
  /** Missed periods of a mandate that are recorded at once. */
  collection_missed_periods: 400,
  /** How long the request that starts a run waits for its end. */
  collection_wait_ms: 5_000,
  /** How long a run yields to requests after each batch. */
  collection_pause_ms: 5,
  /** Debits that are read at once for a run's file. */
  collection_file_batch: 1_000,
  /** How far ahead the sandbox collects. */
  collection_years_ahead: 2,
  mandate_reason_length: 200,
  mandate_flag_note_length: 1_000,
  /** The newest entries of its history, and payments, in the detail of a mandate. */
  mandate_events: 100,
  mandate_payments: 100,
  /** How far ahead a mandate may end. */
  mandate_years_ahead: 100,
  /** Orders in one batch of status queries, and how long they are leased. */
  mandate_orders_batch: 200,
  mandate_orders_claim_s: 60,
  /** Companies that are polled at once, and for how long each. */
  scheme_companies: 32,
  mandate_orders_polling_ms: 10_000,
  /** How long an order awaits its customer, and how long any order is polled. */
  mandate_authorization_hours: 24,
  mandate_order_hours: 48,
  /** Callbacks of the scheme: how many an address may send in a minute, and how long they are kept. */
  scheme_callbacks_minute: 600,
  scheme_callback_days: 400,
  /** Callbacks of no company, mostly unsigned ones: how many are recorded, and for how long. */
  scheme_callbacks_unmatched: 10_000,
  scheme_callback_unmatched_days: 7,
  /** Recorded callbacks of one order that change nothing: the customer's browser can repeat a signed one. */
  scheme_callbacks_order: 50,
  /** A private key or certificate as PEM text, and how long an RSA key may be: longer ones sign too slowly. */
  pem_characters: 16_384,
  /** Holidays that a company may name: enough for some years. */
  emandate_holidays: 400,
  /** One call of a debit scheme, its response included. */
  scheme_call_ms: 10_000,
  scheme_answer_bytes: 64 * 1024,
  /** Fields of a scheme's message. */
  scheme_message_fields: 100,
  /** How often the list of banks is refreshed. */
  bank_refresh_minutes: 15,
  /** Banks of a scheme. */
  banks: 500,
  /** Lines of a file of results, and how long one value in it may be. */
  collection_file_lines: 100_000,
  /** Bytes of such a file that are read at once. */
  collection_file_piece: 16 * 1024,
  collection_value_characters: 200,
  /** Problems of a file that are named in one response. */
  collection_file_problems: 100,
} as const;
