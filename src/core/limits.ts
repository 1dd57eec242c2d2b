/** Bounds that nobody needs to turn, in one place. Sizes in bytes, times as their name says. */
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
  /** Refused requests a minute: of one address whose callers are not signed in, and of a user those with bodies so large. */
  refused_minute: 600,
  refused_bytes: 64 * 1024,
  /** A line of a stream of lines: an event's largest metadata fit in, every character escaped. */
  line_bytes: 128 * 1024,
  /** How long a stream of lines may take to send the next block of them. */
  line_block_ms: 60_000,
  /** Metadata may nest 100 levels, inside an event of a batch. */
  body_depth: 110,
  /** How long a shutdown waits for answers in flight before it cuts them off, and how long it takes in all. */
  drain_ms: 6_000,
  shutdown_ms: 9_000,
  /** How much the receiver of a file must take, on average while it is waited for. */
  download_bytes_s: 16 * 1024,
  page_limit: 200,
  page_limit_default: 20,
  /** A list that answers whole when no page is asked for stops here. */
  list_rows: 1_000,
  page_number: 1_000_000_000,
  name_length: 200,
  description_length: 1_000,
  external_id_length: 200,
  /** How far ahead or back a subscription may start: further is a slip of the keyboard. */
  start_years_ahead: 100,
  start_years_back: 10,
  email_length: 254,
  password_length_min: 12,
  password_length_max: 256,
  rest_token_hours: 24,
  /** API keys that a company may have at once, revoked ones aside. */
  api_keys: 200,
  api_key_name_length: 100,
  api_key_grace_hours: 168,
  api_key_grace_hours_default: 24,
  /** Longer than any clientId or clientSecret. */
  api_key_credential_length: 200,
  api_key_token_hours: 1,
  /** How far behind a key's last use may be told. */
  api_key_used_minutes: 1,
  /** As long as the hash that it keys: a shorter secret is easier to guess than to break. */
  secret_bytes: 32,
  /** Verified tokens remembered, to spare their signature check. */
  token_cache: 10_000,
  /** Password hashes computed at once, and callers that may wait for one. */
  password_hashes: 4,
  password_hashes_waiting: 200,
  /** Accounts of one email, in as many companies, whose passwords a sign-in tries. */
  sign_in_accounts: 10,
  /**
   * Failed sign-ins of one network by as many names, and of one account from as many networks, as are allowed of one
   * pair. Those of an account are counted for an hour: a hundred, where a pair may have ten a minute.
   */
  login_names_network: 20,
  login_networks_account: 10,
  login_account_window_s: 3_600,
  usage_tiers: 100,
  /** Forms that a client may have: its list answers whole. */
  forms_client: 200,
  form_bytes: 64 * 1024,
  form_fields: 200,
  form_options: 500,
  form_name_length: 100,
  /** A label, placeholder, option or title. */
  form_text_length: 200,
  /** An answer to a field, and one to a textarea. */
  form_answer_length: 1_000,
  form_long_answer_length: 10_000,
  /** Broken rules of a form that are named in one answer. */
  form_problems: 100,
  emandate_page_limit: 100,
  emandate_product_name_length: 100,
  /** What the scheme takes: a debit of a person's account, in MYR, and a name. */
  emandate_amount_min: "1.00",
  emandate_amount_max: "30000.00",
  emandate_customer_name_length: 40,
  emandate_description_length: 30,
  /** How far ahead a debit by hand may be due. */
  emandate_due_years_ahead: 1,
  /** Mandates that a collection run looks at, and debits that it sends, in one transaction. */
  collection_batch: 200,
  /** For so long a debit by hand that stands in no file yet goes into one, also in another period. */
  collection_by_hand_days: 7,
  /** Missed periods of a mandate that are written down at once. */
  collection_missed_periods: 400,
  /** How long the request that starts a run waits for its end. */
  collection_wait_ms: 5_000,
  /** How long a run leaves the process to requests after each batch. */
  collection_pause_ms: 5,
  /** Debits that are read at once for a run's file. */
  collection_file_batch: 1_000,
  /** How far ahead the sandbox collects. */
  collection_years_ahead: 2,
  mandate_reason_length: 200,
  mandate_flag_note_length: 1_000,
  /** What the detail of a mandate tells of its history and its payments, the newest. */
  mandate_events: 100,
  mandate_payments: 100,
  /** How far ahead a mandate may end. */
  mandate_years_ahead: 100,
  /** Orders of which the scheme is asked at once, and how long nobody else asks meanwhile. */
  mandate_orders_batch: 200,
  mandate_orders_claim_s: 60,
  /** Companies whose schemes are asked at once, and for how long each before the next second goes on. */
  scheme_companies: 32,
  mandate_orders_polling_ms: 10_000,
  /** How often the scheme is asked for one order. */
  mandate_authorization_hours: 24,
  mandate_order_hours: 48,
  /** Callbacks of the scheme: how many an address may send in a minute, and how long they are remembered. */
  scheme_callbacks_minute: 600,
  scheme_callback_days: 400,
  /** Those that are nobody's, unsigned ones above all: how many are written down, and for how long. */
  scheme_callbacks_nobodys: 10_000,
  scheme_callback_nobodys_days: 7,
  /** Those about one order that change nothing: the customer's browser has what is signed, and may send it again. */
  scheme_callbacks_order: 50,
  usage_batch: 1_000,
  usage_filter_ids: 1_000,
  usage_search_limit: 200,
  usage_search_limit_default: 50,
  usage_groups: 10_000,
  /** Groups by subscription that are read to be folded into groups by client or product. */
  usage_groups_folded: 100_000,
  usage_search_text_length: 200,
  usage_cursor_length: 500,
  /** A key of metadata by which groups are made, that is told of, or that is searched, and the value it must have. */
  usage_metadata_key_length: 200,
  usage_metadata_value_length: 1_000,
  /** Longer values are cut to make the key of a group. */
  usage_group_key_length: 500,
  /** How many of the newest events the list of metadata keys goes through, how deep, and what it tells of them. */
  usage_keys_events: 100_000,
  usage_keys_bytes: 16 * 1024 * 1024,
  usage_keys_depth: 5,
  usage_keys_elements: 3,
  usage_keys: 200,
  usage_keys_samples: 5,
  usage_keys_sample_length: 100,
  /** Broken rules named in the answer to one ingest request. */
  usage_problems: 100,
  usage_metadata_keys: 50,
  usage_metadata_bytes: 16_384,
  /** How long a stream of events waits, in all, for a store that takes no more just now. */
  usage_stream_wait_ms: 15_000,
  usage_future_ms: 3_600_000,
  /** Memory of the engine that reads an imported file. */
  usage_import_memory: "512MB",
  usage_import_threads: 2,
  /** What it reads ahead of what is stored. */
  usage_import_buffer: "64MB",
  /** Rows of a file that are stored at once, and that are read one by one at once. */
  usage_import_block: 500_000,
  usage_import_slice: 2_000,
  /** Imported files of a company that are known again, the newest. */
  usage_imports: 10_000,
  /** Rows whose keys are taken for those of the file. */
  usage_import_sample: 10_000,
  /** Events waiting for their commit before ingest answers "later". */
  usage_pending_events: 200_000,
  /** How long the comparison of sums with events may take. */
  usage_check_ms: 600_000,
  usage_readers: 4,
  usage_readers_waiting: 256,
  /** Exports that run at once, and that may wait for those. */
  usage_exports: 2,
  usage_exports_waiting: 8,
  usage_exports_waiting_company: 2,
  /** How long a link to an export may be followed, and how long it may be: proxies cut off longer ones. */
  usage_export_link_s: 900,
  usage_export_link_characters: 6_000,
  /** How long an export may take, its wait included, and how long its receiver may take nothing. */
  usage_export_ms: 1_800_000,
  usage_export_idle_ms: 60_000,
  /** Events that an export sorts at once, where it can't part them by time. */
  usage_export_sorted: 1_000_000,
  /** The largest Parquet file: it is on disk before it is sent. */
  usage_export_file_bytes: 4 * 1024 ** 3,
  /** Changes of a subscription's billing model, cancelled ones aside. */
  billing_model_changes: 1_000,
  /** How far ahead a change may be scheduled. */
  change_years_ahead: 100,
  /** Changes that are applied in one transaction where nothing else comes with them. */
  changes_batch: 50,
  /** Subscriptions whose credits are counted at once. */
  credits_batch: 500,
  billing_run_subscriptions: 1_000,
  billing_run_errors: 1_000,
  /** Records that a run answers. */
  billing_run_records: 100,
  /** How long POST /billing-runs waits for its run before it answers "running". */
  billing_run_wait_ms: 10_000,
  /** A run that has told of no progress for so long is dead. */
  billing_run_silent_minutes: 15,
  /** Subscriptions whose periods a run looks for at once, both of which holds up requests. */
  billing_batch_subscriptions: 100,
  /** Periods whose usage it counts in one question, and records that it writes in one transaction. */
  billing_batch_periods: 2_000,
  billing_batch_records: 25,
  /** How long it leaves the process to requests after each of these steps. */
  billing_pause_ms: 5,
  /** After so many failures of a store in a row a run gives up: it is not the subscriptions' fault. */
  billing_store_failures: 5,
  /** How far back the daily job looks for late usage. */
  billing_recheck_days: 90,
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
  /** How long an Idempotency-Key is remembered. */
  idempotency_hours: 24,
  /** A request that has not been answered for so long is believed to be dead: a repeat takes its key over. */
  idempotency_lease_s: 60,
  /** When a repeat of a request that is under way is told to come back, at most. */
  idempotency_retry_s: 5,
  /** Longer answers are not kept for repeats. */
  idempotency_answer_characters: 1024 * 1024,
  /** How long what happened is told, once everyone who listens was told of it. */
  event_days: 90,
  /** Endpoints of a company, patterns of an endpoint, and what its URL may be long. */
  webhook_endpoints: 50,
  webhook_event_types: 100,
  webhook_url_length: 2_048,
  /** How long saving an endpoint waits for its host to be resolved. */
  webhook_resolve_ms: 3_000,
  /** A whole attempt: resolving, connecting, sending, reading the answer's beginning. */
  webhook_timeout_ms: 15_000,
  webhook_excerpt_bytes: 1_024,
  /** A log's last attempts, where it was redelivered often. */
  webhook_attempts_kept: 30,
  /** Attempts under way at once: in all, for one endpoint, and for all that failed last, together. */
  webhook_slots: 256,
  webhook_slots_endpoint: 4,
  webhook_slots_failing: 128,
  /** How often the dispatcher looks for new events and due deliveries. */
  webhook_poll_ms: 250,
  /** What a dispatcher has claimed is another's after so long without a word from it. */
  webhook_lease_ms: 8_000,
  webhook_renew_ms: 2_000,
  /** Events that are turned into deliveries in one transaction, and endpoints served in one turn. */
  webhook_fan_out_events: 200,
  /** How long the dispatcher leaves the process to requests after each batch. */
  webhook_pause_ms: 2,
  webhook_due_endpoints: 1_000,
  /** How long a shutdown waits for attempts under way. */
  webhook_drain_ms: 3_000,
  /** How long an old secret signs beside the new one, and how many secrets sign at once. */
  webhook_secret_hours: 24,
  webhook_secrets: 5,
  /** How long finished deliveries are told of. */
  webhook_log_days: 30,
  /** The longest answer of a tool that reads: about 16,000 tokens of a model's memory. */
  mcp_answer_characters: 64_000,
  /** The longest refusal of a tool. */
  mcp_refusal_characters: 16_000,
  /** Loans: months over which one is paid back, and texts that come with an application. */
  loan_tenor_months: 600,
  loan_code_length: 50,
  loan_purpose_length: 200,
  loan_reference_length: 64,
  /** Consents that a program may ask for, and things that a lender may ask for at once. */
  loan_required_consents: 20,
  loan_action_items: 50,
  /** How long an offer stands where it says nothing else, and how long an unsent application is kept waiting. */
  loan_offer_days: 30,
  loan_idle_days: 90,
  /** Applications that are ended in one transaction. */
  loan_expiry_batch: 50,
  /** What an agent may register. */
  agent_redirect_uris: 10,
  agent_redirect_uri_length: 2_000,
  /** What an agent may want to get back with its answer. */
  oauth_state_length: 4_000,
  /** How long a sign-in page is good for. */
  oauth_request_minutes: 10,
  /** Sign-in pages that nobody has answered yet: beyond, the oldest gives way. */
  oauth_requests: 10_000,
  oauth_code_s: 60,
  oauth_access_hours: 8,
  oauth_refresh_days: 30,
  /** Expired codes and refresh tokens are remembered for so long, to notice their second use. */
  oauth_token_kept_hours: 24,
  /** Agents are forgotten when nobody has authorized them for so long, or so long after the last who did. */
  agent_unused_hours: 24,
  agent_ended_days: 90,
  /** Agents that registered within that time: beyond, the oldest that nobody has authorized gives way. */
  agents_unused: 10_000,
  /** Registrations, and all other calls of the authorization server, a minute for one address. */
  oauth_registrations_minute: 30,
  oauth_calls_minute: 600,
  /** Keys that open sealed secrets: today's and the one before. */
  secrets_keys: 2,
  /** A private key or certificate as PEM text, and how long an RSA key may be: longer ones sign too slowly. */
  pem_characters: 16_384,
  rsa_bits_min: 2_048,
  rsa_bits_max: 8_192,
  /** Days that a company may name as no working days: some years of them. */
  emandate_holidays: 400,
  /** One call of a debit scheme, its answer included. */
  scheme_call_ms: 10_000,
  scheme_answer_bytes: 64 * 1024,
  /** Fields of a scheme's message. */
  scheme_message_fields: 100,
  /** How often a scheme is asked which of its banks are online. */
  bank_refresh_minutes: 15,
  /** Banks that a scheme may name. */
  banks: 500,
  /** Lines of a file of results, and how long one value in it may be. */
  collection_file_lines: 100_000,
  /** How much of such a file is read at once. */
  collection_file_piece: 16 * 1024,
  collection_value_characters: 200,
  /** Broken rules of a file that are named in one answer. */
  collection_file_problems: 100,
  /** A document of a loan application; what its multipart body may be longer; what comes with the file. */
  document_bytes: 10 * 1024 * 1024,
  document_envelope_bytes: 64 * 1024,
  document_field_bytes: 1_000,
  document_name_length: 200,
  /** Documents of an application, superseded ones too. */
  documents_application: 50,
  /** How long a document may take to come in. */
  document_upload_ms: 120_000,
  /** Documents that come in at once, in all and for one company. */
  document_uploads: 64,
  document_uploads_company: 16,
  /** A file that no document refers to, or that never became one, is removed when it is so old. */
  document_orphan_minutes: 60,
  /** Broken files that `doctor` names. */
  document_problems: 5,
  /** How long the receiver of a document may take nothing. */
  document_idle_ms: 60_000,
  /** A reason or a note about a document, a consent or a decision. */
  loan_note_length: 500,
  locale_length: 35,
  consent_text_length: 10_000,
  consent_audience_length: 100,
  consent_categories: 50,
  /** How long a consent may hold, and its data be kept: a hundred years. */
  consent_days: 36_525,
  /** Consents of an application, whatever became of them. */
  consents_application: 200,
  /** How far the clock that stamped a consent may be ahead of ours. */
  consent_ahead_ms: 5_000,
  ip_length: 45,
  user_agent_length: 500,
  /** Rows that are forgotten in one transaction. */
  prune_rows: 2_000,
  /** Buckets a rate limiter remembers. */
  rate_limit_buckets: 100_000,
} as const;
