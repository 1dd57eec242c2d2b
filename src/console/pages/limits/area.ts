export { AlertPage } from "./alert.tsx";
export { AlertsPage } from "./alerts.tsx";
export { FeaturesPage } from "./features.tsx";
