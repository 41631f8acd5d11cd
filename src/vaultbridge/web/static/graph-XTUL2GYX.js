import{k as t,n as r,v as e}from"./chunk-YUKKNVBY.js";import"./chunk-OOJM4CTU.js";function o(p){return e("Graph"),t(r,{icon:"graph",title:"Graph"})}export{o as default};
