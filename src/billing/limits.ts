/** Hard limits of billing. */
export const LIMITS = {
  /** How far ahead or back a subscription may start: further is a typing error. */
  start_years_ahead: 100,
  start_years_back: 10,
  usage_tiers: 100,
  charges: 20,
  trial_days: 730,
  charge_prices: 100,
  credit_rates: 20,
  /** Entitlements of a billing model, and of a subscription to one feature. */
  entitlements: 100,
  feature_entitlements: 5,
  meter_terms: 5,
  meter_filters: 10,
  meter_filter_values: 100,
  meter_group_keys: 3,
  /** Quantities by meters of a quote, and points of its curve. */
  quote_quantities: 100,
  quote_points: 50,
  /** Running bills that are looked at in one step, how long a run of the job may go on, and when they are rated anyway. */
  running_bills_batch: 200,
  running_bills_ms: 1_000,
  running_bills_stale_minutes: 60,
  /** Clients whose figures are asked for at once, and the days of their usage. */
  client_figures: 50,
  client_usage_days: 30,
  /** Buckets of a report of revenue. */
  revenue_buckets: 400,
  /** Subscriptions of a client's overview, whose usage one question counts. */
  overview_subscriptions: 100,
  /** Subscriptions, and rows of the answer, that a meter is tried on. */
  meter_try_subscriptions: 100,
  meter_try_rows: 1_000,
  /** Subscriptions among which those with the most events are found. */
  meter_try_groups: 100_000,
  /** Bookings of add-ons of a subscription that touch one billing period. */
  subscription_add_ons: 1_000,
  /** Plan changes of a subscription that are not cancelled. */
  billing_model_changes: 1_000,
  /** How far ahead a change may be scheduled. */
  change_years_ahead: 100,
  /** Subscriptions that a migration may name, those whose ids are read at once, and errors that it lists. */
  migration_subscriptions: 1_000,
  migration_batch: 100,
  migration_errors: 1_000,
  /** Plan changes that are applied in one transaction, where no closed period is adjusted. */
  changes_batch: 50,
  /** Subscriptions whose credits are counted in one query. */
  credits_batch: 500,
  billing_run_subscriptions: 1_000,
  billing_run_errors: 1_000,
  /** Records in the response of a run. */
  billing_run_records: 100,
  /** How long POST /billing-runs waits for its run before it answers "running". */
  billing_run_wait_ms: 10_000,
  /** How long a run lives without a sign of life, how often it gives one, and runs of dead instances taken over at once. */
  billing_run_lease_ms: 60_000,
  billing_run_renew_ms: 20_000,
  billing_takeovers: 4,
  /** A run that has been silent for so long, and that nobody went on with, is ended by the next one. */
  billing_run_silent_minutes: 15,
  /** Subscriptions whose due periods are read at once. */
  billing_batch_subscriptions: 100,
  /** Periods whose usage it counts in one question, and records that it writes in one transaction. */
  billing_batch_periods: 2_000,
  billing_batch_records: 25,
  /** Due periods after which no more subscriptions are read before these are billed. */
  billing_periods_in_hand: 50_000,
  /** Running periods that are read, or rated, before requests get their turn. */
  running_read: 25,
  /** Clients whose usage so far it counts in one question. */
  interim_clients: 50,
  /** Subscriptions whose records of years are read at once, for commitments to a year. */
  commitment_years_read: 50,
  /** How long a run yields to requests after each of these steps. */
  billing_pause_ms: 5,
  /** Consecutive store failures after which a run stops. */
  billing_store_failures: 5,
  /** How far back the daily job looks for late usage. */
  billing_recheck_days: 90,
  /** Simulations of a company that go on at once, and that are kept; and for how many days. */
  simulations_at_once: 2,
  simulations: 200,
  simulation_days: 90,
  /** Months, and ids of clients or subscriptions, of a simulation. */
  simulation_months: 36,
  simulation_ids: 1_000,
  /** Periods that are not reproduced, as far as a simulation names them. */
  simulation_mismatches: 100,
  /** Subscriptions of a step: their usage of a month is counted by one question. */
  simulation_subscriptions: 1_000,
  /** Subscriptions, and periods, whose records are read in one transaction; rows written or read by one statement. */
  simulation_read: 25,
  simulation_read_periods: 100,
  simulation_write: 500,
  /** Periods that are rated before requests get their turn. */
  simulation_turn: 4,
  /** Periods, or subscriptions, whose amounts are added up before requests get their turn. */
  simulation_sum: 25,
  /** How long simulations of a company go on before another company has its turn. */
  simulation_slice_ms: 20_000,
  /** Failures of a step before its simulation fails; from the second on each halves it and those after it. */
  simulation_attempts: 8,
  /** Bills that one call proves, and those of them whose rows are read at once. */
  proof_records: 10_000,
  proof_batch: 50,
  /** Ids of bills that are listed at once. */
  proof_page: 1_000,
} as const;
