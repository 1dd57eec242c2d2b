import type { Actions } from "../server/operator/action.ts";

/** What commands ask a running server to do; each is loaded at its first use. */
export const ACTIONS: Actions = {
  add_company: async () => (await import("./company.ts")).addCompanyAction,
  list_companies: async () => (await import("./company.ts")).listCompaniesAction,
  add_user: async () => (await import("./user.ts")).addUserAction,
  list_users: async () => (await import("./user.ts")).listUsersAction,
  take_backup: async () => (await import("./backup.ts")).takeBackupAction,
  run_job: async () => (await import("./job.ts")).runJobAction,
  show_clock: async () => (await import("./clock.ts")).showClockAction,
  accept_clock: async () => (await import("./clock.ts")).acceptClockAction,
  preview_person_erasure: async () => (await import("./erase_person.ts")).previewPersonAction,
  erase_person: async () => (await import("./erase_person.ts")).erasePersonAction,
  examine: async () => (await import("./doctor.ts")).examineAction,
};
