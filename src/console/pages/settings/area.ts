export { AccountPage } from "./account.tsx";
export { AuditLogPage } from "./audit_log.tsx";
export { CompanyPage } from "./company.tsx";
export { PeopleErasuresPage } from "./people_erasures.tsx";
export { UserPage } from "./user.tsx";
export { UsersPage } from "./users.tsx";
