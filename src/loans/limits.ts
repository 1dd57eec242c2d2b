/** Hard limits of loan applications, documents and consents. */
export const LIMITS = {
  /** Applications that are looked at for what they lack, and how many of them in one turn. */
  loan_applications_looked_at: 5_000,
  loan_applications_in_a_step: 100,
  loan_tenor_months: 600,
  loan_code_length: 50,
  loan_purpose_length: 200,
  loan_reference_length: 64,
  /** Consents that a program may require. */
  loan_required_consents: 20,
  /** Items of one action request. */
  loan_action_items: 50,
  /** The default validity of an offer. */
  loan_offer_days: 30,
  /** Days without a change until a draft or an action request expires. */
  loan_idle_days: 90,
  /** Applications expired in one transaction. */
  loan_expiry_batch: 50,
  /** Maximum size of a document. */
  document_bytes: 10 * 1024 * 1024,
  /** Bytes of a multipart body beside the file. */
  document_envelope_bytes: 64 * 1024,
  /** Maximum size of a multipart field. */
  document_field_bytes: 1_000,
  document_name_length: 200,
  /** Documents of an application, superseded ones included. */
  documents_application: 50,
  /** Maximum duration of an upload. */
  document_upload_ms: 120_000,
  /** Damaged files that `doctor` names. */
  document_problems: 5,
  /** Documents that doctor looks at at once. */
  document_checks: 16,
  /** A reason or note about a document, a consent or a decision. */
  loan_note_length: 500,
  locale_length: 35,
  consent_text_length: 10_000,
  consent_audience_length: 100,
  consent_categories: 50,
  /** Maximum validity of a consent and retention of its data: a hundred years. */
  consent_days: 36_525,
  /** Consents of an application, whatever their status. */
  consents_application: 200,
  /** How far ahead of the server's clock the capture of a consent may be. */
  consent_ahead_ms: 5_000,
  ip_length: 45,
  user_agent_length: 500,
} as const;
