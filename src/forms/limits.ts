/** Hard limits of forms. */
export const LIMITS = {
  /** Forms of a client: its list is returned whole. */
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
  /** Problems of a form named in one response. */
  form_problems: 100,
} as const;
