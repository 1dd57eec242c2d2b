export { FirstStepsPage } from "./first_steps.tsx";
export { OverviewPage } from "./overview.tsx";
