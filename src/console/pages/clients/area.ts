export { ClientPage } from "./client.tsx";
export { ClientsPage } from "./clients.tsx";
