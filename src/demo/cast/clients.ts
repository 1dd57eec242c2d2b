/** When a client's customers are awake: at their desks, in shops and on sofas, or while its nightly jobs run. */
export type Rhythm = "office" | "shop" | "night";

/** A client, and what it buys. */
export interface ClientPlan {
  key: string;
  name: string;
  rhythm: Rhythm;
  currency: "MYR" | "USD";
  /** Its size beside the others'. */
  weight: number;
  /** The month of the past in which it came, from 0. */
  joins: number;
  /** Its subscriptions: product and plan. */
  lines: readonly string[];
}

type Row = readonly [string, string, Rhythm, ClientPlan["currency"], number, number, string];

/** Forty clients with 120 subscriptions. */
const ROWS: readonly Row[] = [
  [
    "tanjung",
    "Tanjung Retail",
    "shop",
    "MYR",
    9,
    0,
    "chat/platform chat/scale embed/volume documents/packs images/calls speech/seconds",
  ],
  [
    "straits",
    "Straits Bank",
    "office",
    "USD",
    8,
    0,
    "chat/platform chat/scale embed/volume documents/packs chat/enterprise",
  ],
  [
    "lazuli",
    "Lazuli Health",
    "office",
    "MYR",
    6,
    0,
    "chat/scale documents/packs speech/seconds embed/volume chat/credits",
  ],
  [
    "cendana",
    "Cendana Insurance",
    "office",
    "MYR",
    6,
    0,
    "chat/platform documents/packs embed/volume speech/seconds",
  ],
  ["bayu", "Bayu Telecom", "shop", "USD", 7, 0, "chat/scale chat/payg embed/volume chat/platform"],
  ["kancil", "Kancil Games", "shop", "MYR", 4, 0, "chat/credits images/calls chat/payg embed/volume"],
  ["pulau", "Pulau Logistics", "night", "MYR", 4, 0, "documents/packs embed/volume chat/payg"],
  ["rimba", "Rimba Media", "shop", "MYR", 3, 0, "chat/payg images/calls speech/seconds chat/team"],
  ["orkid", "Orkid Travel", "shop", "MYR", 3, 0, "chat/payg embed/volume chat/credits"],
  ["meranti", "Meranti Legal", "office", "MYR", 2, 0, "documents/packs chat/team chat/payg"],
  ["damai", "Damai Clinics", "office", "MYR", 2, 0, "speech/seconds documents/packs chat/payg"],
  ["sentosa", "Sentosa Foods", "shop", "MYR", 2, 1, "chat/payg images/calls chat/team"],
  ["nusantara", "Nusantara Courier", "night", "MYR", 3, 1, "documents/packs chat/payg embed/volume"],
  [
    "teratai",
    "Teratai Education",
    "office",
    "MYR",
    3,
    1,
    "chat/credits chat/payg speech/seconds embed/volume",
  ],
  ["gading", "Gading Property", "office", "MYR", 1, 1, "chat/team images/calls"],
  ["permata", "Permata Jewels", "shop", "MYR", 1, 1, "images/calls chat/payg"],
  ["selat", "Selat Shipping", "night", "USD", 3, 2, "documents/packs embed/volume chat/payg"],
  ["hijau", "Hijau Energy", "office", "MYR", 2, 2, "chat/payg embed/volume documents/packs"],
  ["layang", "Layang Airlines", "shop", "USD", 5, 2, "chat/scale embed/volume chat/payg chat/enterprise"],
  ["mutiara", "Mutiara Hotels", "shop", "MYR", 3, 2, "chat/credits chat/payg images/calls"],
  ["rotan", "Rotan Furniture", "shop", "MYR", 1, 3, "images/calls chat/payg chat/team"],
  ["sawit", "Sawit Analytics", "night", "MYR", 4, 3, "embed/volume chat/payg documents/packs"],
  ["zamrud", "Zamrud Pharma", "office", "MYR", 2, 3, "documents/packs chat/credits chat/payg"],
  ["kelana", "Kelana Fleet", "night", "MYR", 2, 3, "documents/packs chat/payg"],
  ["angsana", "Angsana Books", "shop", "MYR", 1, 4, "chat/payg embed/volume chat/team"],
  ["bintang", "Bintang Studio", "shop", "MYR", 2, 4, "images/calls speech/seconds chat/credits"],
  ["cahaya", "Cahaya Lighting", "office", "MYR", 1, 4, "chat/payg chat/team"],
  ["delima", "Delima Beauty", "shop", "MYR", 2, 5, "chat/credits images/calls chat/payg"],
  ["enggang", "Enggang Drones", "office", "MYR", 1, 5, "chat/payg images/calls"],
  ["firasat", "Firasat Labs", "night", "MYR", 3, 5, "embed/volume chat/scale chat/payg"],
  ["gelombang", "Gelombang Audio", "shop", "MYR", 1, 6, "speech/seconds chat/payg"],
  ["harimau", "Harimau Sports", "shop", "MYR", 2, 6, "chat/payg images/calls chat/team"],
  ["inai", "Inai Textiles", "office", "MYR", 1, 6, "chat/payg documents/packs"],
  ["jati", "Jati Homes", "office", "MYR", 1, 7, "chat/credits documents/packs"],
  ["kasturi", "Kasturi Coffee", "shop", "MYR", 1, 7, "chat/payg chat/team"],
  ["lembah", "Lembah Farms", "night", "MYR", 1, 8, "documents/packs chat/payg"],
  ["manggis", "Manggis Market", "shop", "MYR", 3, 8, "chat/platform embed/volume images/calls"],
  ["nipah", "Nipah Robotics", "office", "MYR", 2, 9, "chat/payg embed/volume"],
  ["opal", "Opal Wealth", "office", "USD", 2, 9, "chat/payg documents/packs"],
  ["panduan", "Panduan Maps", "night", "USD", 3, 10, "embed/volume chat/payg"],
];

export const CLIENTS: readonly ClientPlan[] = ROWS.map(
  ([key, name, rhythm, currency, weight, joins, lines]) => ({
    key,
    name,
    rhythm,
    currency,
    weight,
    joins,
    lines: lines.split(" "),
  }),
);
