export { MeterPage } from "./meter.tsx";
export { MetersPage } from "./meters.tsx";
export { NewMeterPage } from "./new_meter.tsx";
