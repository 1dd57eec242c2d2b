/** Hard limits of signing in, API keys and OAuth clients. */
export const LIMITS = {
  rest_token_hours: 24,
  /** A browser's session ends when it is not used for so long, and after so long at most. */
  session_unused_hours: 12,
  session_hours: 168,
  /** How far behind the recorded last use of a session may be. */
  session_used_minutes: 5,
  /** Sessions of a user: beyond, the oldest gives way. */
  user_sessions: 50,
  session_user_agent_length: 300,
  /** How long a user may choose a password by a link. */
  user_link_hours: 72,
  /** Active API keys of a company. */
  api_keys: 200,
  api_key_name_length: 100,
  api_key_grace_hours: 168,
  api_key_grace_hours_default: 24,
  /** Longer than any clientId or clientSecret. */
  api_key_credential_length: 200,
  api_key_token_hours: 1,
  /** How far behind the recorded last use of a key may be. */
  api_key_used_minutes: 1,
  /** Verified tokens that are cached, to spare their signature check. */
  token_cache: 10_000,
  /** Accounts of one email, in as many companies, whose passwords a sign-in tries. */
  sign_in_accounts: 10,
  /**
   * Limits of one network and of one account, as multiples of the limit of a pair of both. An account's failures count
   * for an hour: a hundred, where a pair may have ten a minute.
   */
  login_names_network: 20,
  login_networks_account: 10,
  login_account_window_s: 3_600,
  /** How long instances tell each other from which networks an account has signed in. */
  login_known_days: 30,
  /** How long a link to an export may be followed, and how long it may be: proxies cut off longer ones. */
  usage_export_link_s: 900,
  /** What an OAuth client may register. */
  oauth_redirect_uris: 10,
  oauth_redirect_uri_length: 2_000,
  /** The state that an OAuth client gets back with the decision. */
  oauth_state_length: 4_000,
  /** How long a sign-in page is valid. */
  oauth_request_minutes: 10,
  /** Sign-in pages without a decision: beyond, the oldest gives way. */
  oauth_requests: 10_000,
  oauth_code_s: 60,
  oauth_access_hours: 8,
  oauth_refresh_days: 30,
  /** Expired codes and refresh tokens are kept for so long, to notice their second use. */
  oauth_token_kept_hours: 24,
  /** OAuth clients without an authorization are deleted after so long, ended authorizations after so many days. */
  oauth_client_unused_hours: 24,
  oauth_ended_days: 90,
  /** OAuth clients that registered within that time: beyond, the oldest without an authorization gives way. */
  oauth_clients_unused: 10_000,
  /** Registrations, and all other calls of the authorization server, a minute for one address. */
  oauth_registrations_minute: 30,
  oauth_calls_minute: 600,
} as const;
