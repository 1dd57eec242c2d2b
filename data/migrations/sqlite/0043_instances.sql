CREATE TABLE `instances` (
	`id` text PRIMARY KEY NOT NULL,
	`url` text NOT NULL,
	`version` text NOT NULL,
	`started_at` text NOT NULL,
	`seen_at` text NOT NULL
);
