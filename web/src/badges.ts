// Counts beside the names of views, such as how many proposals wait. They are here because a view's module may not be loaded.

import { Store } from './lib/store';
import './review/notifications';
import { waitingProposals } from './review/proposals';

export const badges = new Store<Record<string, number>>({});

waitingProposals.subscribe((proposals) => badges.set({ ...badges.get(), review: proposals.length }));
