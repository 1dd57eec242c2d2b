export { AddOnsPage } from "./add_ons.tsx";
