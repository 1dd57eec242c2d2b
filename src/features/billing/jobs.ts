import type { Job } from "../../jobs.ts";

export const BILLING_JOBS: readonly Job[] = [];
