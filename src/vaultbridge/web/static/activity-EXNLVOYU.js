import{j as t,m as i,u as e}from"./chunk-EVIF5OBW.js";import"./chunk-OOJM4CTU.js";function o(r){return e("Activity"),t(i,{icon:"activity",title:"Activity"})}export{o as default};
