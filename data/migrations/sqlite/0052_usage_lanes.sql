CREATE TABLE `usage_lanes` (
	`lane` integer PRIMARY KEY NOT NULL,
	`epoch` integer NOT NULL,
	`closed_epoch` integer NOT NULL,
	`owner_id` text,
	`owner_url` text,
	`expires_at` text NOT NULL,
	`wanted_by` text,
	`least_epoch` integer NOT NULL
);
