export { CollectionsPage } from "./collections.tsx";
export { DebitSettingsPage } from "./settings.tsx";
export { FlagsPage } from "./flags.tsx";
export { MandatePage } from "./mandate.tsx";
export { MandatesPage } from "./mandates.tsx";
export { PaymentPage } from "./payment.tsx";
export { PaymentsPage } from "./payments.tsx";
