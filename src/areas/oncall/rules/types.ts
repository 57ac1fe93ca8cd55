export interface Person {
  userId: string;
  label: string;
}

/** The newest wins where several cover an instant; ids sort by creation. */
export interface Override extends Person {
  id: string;
  startsAt: string;
  endsAt: string;
}
