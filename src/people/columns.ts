/**
 * What a column may say of a person:
 * - `person`: it is about the one person that its record belongs to, and is erased with that person.
 * - `text`: anybody may be named in it. What it says of an erased person is replaced, in every record of the company.
 * - `company`: what the company says of itself, its offers and its own systems. It stays.
 * - `plain`: an id, a code, a hash, a day or a list of them. It names nobody.
 */
export type ColumnKind = "person" | "text" | "company" | "plain";

/** Every column of every table that holds text or JSON; a test holds the list against the schema. Decision 0207. */
export const COLUMN_KINDS: Readonly<Record<string, Partial<Record<ColumnKind, readonly string[]>>>> = {
  companies: { company: ["name"], plain: ["timezone", "currency", "self_service"] },
  company_timezones: { plain: ["timezone"] },
  clients: { person: ["name"] },
  users: { person: ["email", "name", "password_hash"] },
  products: { company: ["name"] },
  billing_models: {
    company: ["name", "description", "charges", "entitlements"],
    plain: ["currency", "usage_tiers", "credit_plan", "commitment", "plan_code"],
  },
  meters: { company: ["code", "name", "description", "filters"], plain: ["value", "group_keys"] },
  features: { company: ["code", "name", "description"] },
  // The codes of features, group keys, and values that plans grant.
  subscription_entitlements: { company: ["entitlements"] },
  // Its group is gone with it within a day.
  usage_reservations: { plain: ["reservation_id", "group"] },
  alerts: { company: ["name"], plain: ["currency", "scope", "thresholds"] },
  // The value of a group key is of usage, which has its own erasures.
  alert_firings: { plain: ["digest", "per", "group"] },
  add_ons: { company: ["code", "name", "charge", "entitlements"], plain: ["currency"] },
  running_bills: { plain: ["currency"] },
  client_billing_profiles: { plain: ["currency"] },
  subscription_add_ons: { plain: ["adjustment_billing_record_ids"] },
  subscriptions: { person: ["name", "external_subscription_id"] },
  billing_model_changes: { text: ["last_error"], plain: ["adjustment_billing_record_ids"] },
  // Its errors are those of our own rules: ids, models and instants.
  billing_model_migrations: { plain: ["at", "subscription_ids", "counts", "errors"] },
  // A draft is a billing model, which says nothing of people; external ids are read from subscriptions.
  simulations: {
    company: ["billing_model", "draft", "mismatches"],
    plain: [
      "of",
      "from",
      "to",
      "currency",
      "progress",
      "counts",
      "totals",
      "months",
      "charges",
      "spread",
      "error",
    ],
  },
  billing_runs: { text: ["errors"], plain: ["period", "subscription_ids", "counts", "totals"] },
  // A line's description is made of its billing model's name and prices.
  billing_records: { company: ["lines"], plain: ["currency", "unmetered"] },
  usage_imports: { text: ["file_name"], plain: ["digest"] },
  // What a file says may name anybody; its columns, and how they are matched, are read as names of columns.
  usage_uploads: {
    text: ["file_name", "sample", "error"],
    company: ["columns", "matching"],
    plain: ["digest", "file"],
  },
  usage_upload_rejections: { text: ["places"] },
  // Its filters hold what somebody typed.
  usage_views: { text: ["name", "question"] },
  // What an erasure of usage goes by is gone from it when it is done.
  usage_erasures: { plain: ["subscription_ids", "metadata_keys", "conditions", "kept_keys"] },
  usage_erased_ids: { plain: ["ids"] },
  usage_retentions: { plain: ["problem"] },
  usage_link: { plain: ["database_id", "store_id", "opening_id", "place"] },
  usage_lanes: { plain: ["owner_id", "owner_url", "wanted_by"] },
  // So are the traces of an erasure of people.
  person_erasures: { plain: ["subjects", "traces"] },
  forms: { company: ["name", "description", "config"] },
  // Ids and states: never personal data.
  events: { plain: ["message_id", "type", "subject", "data"] },
  audit_log: {
    person: ["email", "address"],
    text: ["input", "changes"],
    plain: ["request_id", "operation", "target_type", "withheld"],
  },
  agents: { company: ["name", "redirect_uris"], plain: ["public_id"] },
  authorization_requests: { plain: ["hash", "redirect_uri", "code_challenge", "state", "scope"] },
  authorizations: { plain: ["redirect_uri", "scope", "code_challenge"] },
  authorization_tokens: { plain: ["hash"] },
  api_keys: { text: ["name"], plain: ["clientId", "secret_hash", "last4", "old_secret_hash"] },
  sign_in_counts: { plain: ["key_hash", "instance_id"] },
  ended_tokens: { plain: ["token_id"] },
  user_links: { plain: ["token_hash"] },
  browser_sessions: { person: ["address", "user_agent"], plain: ["token_hash"] },
  idempotency_keys: { text: ["path", "key", "answer"], plain: ["method", "digest", "claim", "target_type"] },
  webhooks: { company: ["url", "description", "secrets"], plain: ["event_types", "disabled_reason"] },
  webhook_logs: {
    text: ["attempts"],
    company: ["url"],
    plain: ["message_id", "event_type", "payload", "claimed_by"],
  },
  emandate_configs: {
    company: [
      "exchange_id",
      "seller_id",
      "private_key_sealed",
      "scheme_certificate_pem",
      "callback_url",
      "return_url",
    ],
    plain: ["holidays"],
  },
  emandate_bank_lists: { plain: ["banks"] },
  emandate_products: { company: ["product_code", "product_name"], plain: ["max_no_debit"] },
  emandate_customers: { person: ["name", "email", "phone", "ic_number"] },
  mandates: {
    person: ["bank_account_last4", "authorization_url"],
    text: ["status_reason"],
    plain: [
      "reference",
      "scheme_reference",
      "max_no_debit",
      "bank_code",
      "effective_date",
      "expiry_date",
      "amendment",
      "anchor_date",
    ],
  },
  mandate_events: { text: ["reason"], plain: ["type"] },
  mandate_payments: {
    text: ["description", "response_message"],
    plain: ["period_key", "due_date", "debit_date", "order_no", "scheme_txn_id", "response_code"],
  },
  collection_runs: { text: ["error"], plain: ["date", "counts"] },
  mandate_orders: {
    text: ["response_message"],
    plain: ["order_no", "response_code", "scheme_txn_id", "corrected_code", "amendment"],
  },
  job_runs: { plain: ["name"] },
  backup_verifications: {},
  instances: { plain: ["id", "url", "version"] },
  mandate_flags: { text: ["message", "note"], plain: ["about", "response_code"] },
  // Of the scheme, not of a customer.
  scheme_callbacks: { plain: ["address", "order_no", "digest", "response_code", "reason"] },
  debit_holds: { text: ["reason"] },
  loan_programs: {
    company: ["code", "name", "description"],
    plain: ["currency", "eligibility", "required_documents", "required_consents"],
  },
  loan_applications: {
    person: ["external_reference", "borrower", "borrower_name", "purpose", "answers"],
    text: ["missing", "requested", "decision", "disbursement_reference"],
    company: ["program_snapshot", "form_snapshot"],
    plain: ["reference", "agent_client_id", "offer"],
  },
  loan_documents: { person: ["file_name"], text: ["note", "uploaded_by"], plain: ["sha256", "object_id"] },
  consent_definitions: {
    company: ["code", "title", "purpose_text", "data_text", "data_categories", "audience"],
    plain: ["locale", "text_sha256"],
  },
  consents: {
    person: ["subject_name", "subject_ic_last4", "evidence"],
    text: ["revoke_reason"],
    plain: ["code", "locale", "text_sha256"],
  },
};
