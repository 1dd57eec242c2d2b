/** Hard limits of signing in, API keys and OAuth clients. */
export const LIMITS = {
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
  /** Verified tokens remembered, to spare their signature check. */
  token_cache: 10_000,
  /** Accounts of one email, in as many companies, whose passwords a sign-in tries. */
  sign_in_accounts: 10,
  /**
   * Failed sign-ins of one network by as many names, and of one account from as many networks, as are allowed of one
   * pair. Those of an account are counted for an hour: a hundred, where a pair may have ten a minute.
   */
  login_names_network: 20,
  login_networks_account: 10,
  login_account_window_s: 3_600,
  /** How long a link to an export may be followed, and how long it may be: proxies cut off longer ones. */
  usage_export_link_s: 900,
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
} as const;
